// memsearch for OpenClaw: hands finished turns over, tells a session what is known, and offers three tools.
// No logic: everything is done by the `memsearch` command. `memsearch plugins install openclaw` puts its path in here.
const MEMSEARCH = ["memsearch"]
const HOOK = ["memsearch"]
const TIMEOUT_MS = 20_000
const MOST_SESSIONS = 200

const schema = (properties, required) => ({ type: "object", properties, required, additionalProperties: false })
const ID = { id: { type: "string", description: "the note's chunk_hash or entry_id" } }

export default {
  id: "memsearch",
  name: "memsearch",
  description: "Keeps every finished turn as a memory that you own, and finds it again.",
  register(api) {
    const told = new Map() // session -> what it is told, asked for once; a reset keeps the session's id
    const asked = new Map() // session -> what bears on its newest prompt; a prompt may be built more than once
    const run = async (args, cwd, input) => {
      try {
        return await api.runtime.system.runCommandWithTimeout([...(args[0] === "hook" ? HOOK : MEMSEARCH), ...args], { timeoutMs: TIMEOUT_MS, cwd, input })
      } catch (error) {
        return { code: 1, stdout: "", stderr: String(error) }
      }
    }
    const hook = (event, ctx, more = {}) =>
      run(
        ["hook", "openclaw", event],
        ctx.workspaceDir,
        JSON.stringify({ session_id: ctx.sessionId, cwd: ctx.workspaceDir, hook_event_name: event, ...more }),
      )
    const said = (done) => {
      try {
        return JSON.parse(done.stdout)?.hookSpecificOutput?.additionalContext ?? ""
      } catch {
        return ""
      }
    }
    // a gateway has no screen: a problem with the settings goes to its log
    const started = (done) => {
      try {
        const line = JSON.parse(done.stdout)?.systemMessage
        if (line) api.logger?.warn?.(line)
      } catch {}
      return said(done)
    }
    const ours = (ctx) => ctx?.sessionId && ctx.workspaceDir && ctx.trigger !== "heartbeat"

    api.on("agent_end", async (_event, ctx) => {
      if (ours(ctx)) await hook("Stop", ctx)
    })
    const keyOf = (ctx) => `${ctx?.agentId}/${ctx?.sessionId}`
    const cleared = new Set() // sessions that were reset: they keep their id, and have nothing of what they were told
    api.on("session_start", async (_event, ctx) => void told.delete(keyOf(ctx)))
    api.on("before_reset", async (_event, ctx) => {
      told.delete(keyOf(ctx))
      cleared.add(keyOf(ctx))
    })
    const sessions = new Map() // by the name that a compaction knows them by, which says nothing else of them
    api.on("after_compaction", async (_event, named) => {
      const ctx = ours(named) ? named : sessions.get(named?.sessionKey)
      if (ctx) told.set(keyOf(ctx), hook("SessionStart", ctx, { source: "compact" }).then(started))
    })
    api.on("before_prompt_build", async (event, ctx) => {
      if (!ours(ctx)) return
      const key = keyOf(ctx)
      if (ctx.sessionKey) sessions.set(ctx.sessionKey, { agentId: ctx.agentId, sessionId: ctx.sessionId, workspaceDir: ctx.workspaceDir })
      if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value)
      if (!told.has(key)) {
        told.set(key, hook("SessionStart", ctx, cleared.delete(key) ? { source: "clear" } : {}).then(started))
        if (told.size > MOST_SESSIONS) told.delete(told.keys().next().value)
      }
      const prompt = typeof event?.prompt === "string" ? event.prompt : ""
      const start = await told.get(key) // first: what a session is told at its start is not told again at its prompt
      let bears = asked.get(key)
      if (!bears || !ctx.runId || bears.run !== ctx.runId) {
        bears = { run: ctx.runId, text: prompt ? said(await hook("UserPromptSubmit", ctx, { prompt })) : "" }
        asked.set(key, bears)
        if (asked.size > MOST_SESSIONS) asked.delete(asked.keys().next().value)
      }
      if (!start && !bears.text) return
      // both hold for one turn, whatever field they come in; at the end of the system prompt the first spoils no cached prefix
      return { ...(start ? { appendSystemContext: start } : {}), ...(bears.text ? { prependContext: bears.text } : {}) }
    })

    const offer = (name, description, parameters, argv) =>
      api.registerTool(
        (ctx) => ({
          name,
          description,
          parameters,
          async execute(_id, params) {
            const done = await run(argv(params), ctx?.workspaceDir)
            return { content: [{ type: "text", text: done.stdout.trim() || done.stderr.trim() || "nothing found" }] }
          },
        }),
        { name },
      )
    offer(
      "memsearch_search",
      "Search notes about earlier sessions of every coding agent on this project (decisions, fixes, errors). " +
        'Filters are words of the query: agent:codex after:30d "exact phrase" -word project:*.',
      schema({ query: { type: "string" }, limit: { type: "integer", minimum: 1, maximum: 50 } }, ["query"]),
      (params) => ["search", String(params.query), "--json", "-k", String(params.limit ?? 8)],
    )
    offer("memsearch_get", "The whole note behind a search hit.", schema(ID, ["id"]), (params) => [
      "expand",
      String(params.id),
      "--json",
    ])
    offer(
      "memsearch_transcript",
      "The conversation that a note came from, with turns around it.",
      schema({ ...ID, context: { type: "integer", minimum: 0, maximum: 20 } }, ["id"]),
      (params) => ["transcript", String(params.id), "--context", String(params.context ?? 1), "--json"],
    )
  },
}
