// memsearch for OpenCode: hands finished turns over, tells new sessions what is known, and offers three tools.
// No daemon and no logic: everything is done by the `memsearch` command. `memsearch plugins install opencode` puts its
// path in here.
import { spawn } from "node:child_process"
import { tool } from "@opencode-ai/plugin"

const MEMSEARCH = ["memsearch"]
const HOOK = ["memsearch"]
const MAX_OUTPUT = 200_000
const PROMPT_MS = 1_500 // that a prompt may be kept waiting at the very most; the command itself gives up much sooner
const CHILD_MS = 300 // that OpenCode may take to say who started a session
const MOST_TOLD = 500
const WAITED_FOR = ["UserPromptSubmit", "PreToolUse", "PostToolUse"]
const RUNS = ["bash"]
const EDITS = ["edit", "write", "multiedit", "patch", "apply_patch"]
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms).unref())

type Reply = { code: number | null; out: string; err: string }

/** Run memsearch in `cwd`; `detached` children outlive OpenCode and are not waited for. */
function run(args: string[], cwd: string, options: { input?: string; detached?: boolean; signal?: AbortSignal } = {}): Promise<Reply> {
  return new Promise((resolve) => {
    const reply: Reply = { code: null, out: "", err: "" }
    try {
      const [program, ...before] = args[0] === "hook" ? HOOK : MEMSEARCH
      const child = spawn(program, [...before, ...args], {
        cwd,
        detached: options.detached ?? false,
        signal: options.signal,
        stdio: ["pipe", options.detached ? "ignore" : "pipe", options.detached ? "ignore" : "pipe"],
      })
      child.on("error", (error) => resolve({ ...reply, err: String(error) }))
      child.stdin?.on("error", () => {})
      child.stdin?.end(options.input ?? "")
      if (options.detached) {
        child.unref()
        resolve(reply)
        return
      }
      child.stdout?.on("data", (data) => { if (reply.out.length < MAX_OUTPUT) reply.out += data })
      child.stderr?.on("data", (data) => { if (reply.err.length < MAX_OUTPUT) reply.err += data })
      child.on("close", (code) => resolve({ ...reply, code }))
    } catch (error) {
      resolve({ ...reply, err: String(error) })
    }
  })
}

const answer = (reply: Reply) => reply.out.trim() || reply.err.trim() || "nothing found"

export const Memsearch = async ({ directory, client }: { directory: string; client: any }) => {
  const told = new Map<string, Promise<string>>() // session -> what it is told, asked for once
  const atPrompt = new Map<string, string>() // user message -> what bears on it; it goes with that message and is written nowhere
  const children = new Map<string, Promise<boolean>>() // session -> whether another one started it
  const open = new Set<string>() // sessions with turns that were not handed over yet

  const hook = (event: string, sessionID: string, detached: boolean, more: Record<string, unknown> = {}) =>
    run(["hook", "opencode", event], directory, {
      input: JSON.stringify({ session_id: sessionID, cwd: directory, hook_event_name: event, ...more }),
      detached,
      signal: WAITED_FOR.includes(event) ? AbortSignal.timeout(PROMPT_MS) : undefined,
    })

  /** What the agent is told; its user sees one line of it, where there is a screen. */
  const said = (reply: Reply): string => {
    try {
      const { systemMessage, hookSpecificOutput } = JSON.parse(reply.out)
      const text = hookSpecificOutput?.additionalContext ?? ""
      if (systemMessage) client.tui?.showToast({ body: { message: systemMessage, variant: "info" } }).catch(() => {})
      return text
    } catch {
      return ""
    }
  }

  const isChild = (sessionID: string): Promise<boolean> => {
    let child = children.get(sessionID)
    if (!child) {
      child = Promise.resolve()
        .then(() => Promise.race([client.session.get({ path: { id: sessionID } }), later(CHILD_MS)]))
        .then((found: any) => Boolean(found?.data?.parentID), () => false)
      children.set(sessionID, child)
      if (children.size > MOST_TOLD) children.delete(children.keys().next().value!)
    }
    return child
  }

  const context = (sessionID: string): Promise<string> => {
    let text = told.get(sessionID)
    if (!text) {
      text = hook("SessionStart", sessionID, false).then(said)
      told.set(sessionID, text)
    }
    return text
  }

  return {
    event: async ({ event }: { event: { type: string; properties?: any } }) => {
      const sessionID = event.properties?.sessionID
      if (event.type === "session.status" && event.properties?.status?.type === "busy" && sessionID) open.add(sessionID)
      if (event.type === "session.compacted" && sessionID) {
        told.set(sessionID, hook("SessionStart", sessionID, false, { source: "compact" }).then(said))
      }
      if (event.type === "session.idle" && sessionID) {
        open.delete(sessionID)
        await hook("Stop", sessionID, true)
      }
    },
    // `opencode run` ends without waiting for event handlers; this one it waits for
    dispose: async () => {
      await Promise.all([...open].map((sessionID) => hook("SessionEnd", sessionID, true)))
    },
    "chat.message": async (input: { sessionID: string }, output: { message: any; parts: any[] }) => {
      const words = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      const prompt = words.join("\n").trim()
      if (!prompt || (await isChild(input.sessionID))) return
      await Promise.race([context(input.sessionID), later(PROMPT_MS)]) // first: what a session is told at its start is not told again at its prompt
      const text = said(await hook("UserPromptSubmit", input.sessionID, false, { prompt }))
      if (!text) return
      atPrompt.set(output.message.id, text)
      if (atPrompt.size > MOST_TOLD) atPrompt.delete(atPrompt.keys().next().value!)
    },
    // nothing can be said before an action here, so what is known about it comes with its result
    "tool.execute.after": async (input: { tool: string; sessionID: string; args?: any }, output: { output: string; metadata?: any }) => {
      if (RUNS.includes(input.tool) && output.metadata?.exit === 0) return
      if (![...RUNS, ...EDITS].includes(input.tool) || typeof output.output !== "string" || (await isChild(input.sessionID))) return
      const call = { tool_name: input.tool, tool_input: input.args ?? {} }
      const mended = RUNS.includes(input.tool) ? said(await hook("PostToolUse", input.sessionID, false, { ...call, tool_response: output.output })) : ""
      const text = mended || said(await hook("PreToolUse", input.sessionID, false, call))
      if (text) output.output += `\n\n${text}`
    },
    "experimental.chat.messages.transform": async (_input: unknown, output: { messages: { info: any; parts: any[] }[] }) => {
      for (const { info, parts } of output.messages) {
        const text = atPrompt.get(info.id)
        const part = { id: `prt_memsearch_${info.id}`, sessionID: info.sessionID, messageID: info.id, type: "text", text, synthetic: true }
        if (text && !parts.some((other) => other.id === part.id)) parts.push(part)
      }
    },
    "experimental.chat.system.transform": async (input: { sessionID?: string }, output: { system: string[] }) => {
      // the agents that make titles and summaries have prompts of their own; memory has no place there
      if (!input.sessionID || /^You are an? (title generator|(\w+ )?summari[sz])/i.test(output.system[0] ?? "")) return
      const text = await context(input.sessionID)
      if (text && !output.system.includes(text)) output.system.push(text)
    },
    tool: {
      memory_search: tool({
        description:
          "Search notes about earlier sessions of every coding agent on this project (decisions, fixes, errors). " +
          "Filters are words of the query: agent:codex after:30d \"exact phrase\" -word project:*.",
        args: {
          query: tool.schema.string().describe("what to look for, in words"),
          limit: tool.schema.number().int().min(1).max(50).optional().describe("how many notes, 8 unless told"),
        },
        execute: async (args, ctx) =>
          answer(await run(["search", args.query, "--json", "-k", String(args.limit ?? 8)], ctx.directory, { signal: ctx.abort })),
      }),
      memory_get: tool({
        description: "The whole note behind a search hit, by its chunk_hash or entry_id.",
        args: { id: tool.schema.string() },
        execute: async (args, ctx) => answer(await run(["expand", args.id, "--json"], ctx.directory, { signal: ctx.abort })),
      }),
      memory_transcript: tool({
        description: "The conversation that a note came from, with turns around it, by the note's entry_id.",
        args: {
          id: tool.schema.string(),
          context: tool.schema.number().int().min(0).max(20).optional().describe("turns before and after, 1 unless told"),
        },
        execute: async (args, ctx) =>
          answer(
            await run(["transcript", args.id, "--context", String(args.context ?? 1), "--json"], ctx.directory, { signal: ctx.abort }),
          ),
      }),
    },
  }
}
