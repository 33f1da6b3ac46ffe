// memsearch for pi: hands finished turns over, and tells sessions what is known when it matters.
// No daemon and no logic: everything is done by the `memsearch` command. `memsearch plugins install pi` puts its path in
// here. pi does not start with an extension that throws while it loads, and waits for every handler as long as it takes:
// nothing here throws, and what is waited for ends in time.
import { spawn } from "node:child_process"

const HOOK = ["memsearch"]
const MAX_OUTPUT = 200_000
const WAIT_MS = 1_500 // that pi may be kept waiting at the very most; the command itself gives up much sooner
const EDITS = ["edit", "write"]
const SKILL = /^<skill [^>]*>[\s\S]*?<\/skill>\s*/

type Told = { systemMessage?: string; hookSpecificOutput?: { additionalContext?: string } }

/** Run a hook in `cwd`; a `detached` one outlives pi, and is not waited for. */
function run(event: string, cwd: string, payload: object, detached: boolean): Promise<Told> {
  return new Promise((resolve) => {
    let out = ""
    try {
      const child = spawn(HOOK[0], [...HOOK.slice(1), "hook", "pi", event], {
        cwd,
        detached,
        stdio: ["pipe", detached ? "ignore" : "pipe", "ignore"],
      })
      child.on("error", () => resolve({})) // not there
      child.stdin?.on("error", () => {})
      child.stdin?.end(JSON.stringify(payload))
      if (detached) {
        child.unref()
        resolve({})
        return
      }
      const late = setTimeout(() => {
        resolve({})
        child.kill("SIGKILL")
        child.stdout?.destroy() // what it started may hold the other end
        child.unref()
      }, WAIT_MS).unref()
      child.stdout?.on("data", (data) => { if (out.length < MAX_OUTPUT) out += data })
      child.on("close", () => {
        clearTimeout(late)
        try {
          resolve(JSON.parse(out) ?? {})
        } catch {
          resolve({})
        }
      })
    } catch {
      resolve({})
    }
  })
}

export default function (pi: any) {
  let open = false // a turn has begun that was not handed over yet
  let stopped = "" // why the model stopped last

  const on = (name: string, handler: (event: any, ctx: any) => unknown) =>
    pi.on(name, async (event: any, ctx: any) => {
      try {
        return await handler(event, ctx)
      } catch {
        return undefined
      }
    })

  /** What the hook says; nothing for a session that is kept nowhere. */
  const hook = async (event: string, ctx: any, more: object = {}, detached = false): Promise<string> => {
    const transcript_path = ctx.sessionManager.getSessionFile()
    if (!transcript_path) return ""
    const session_id = ctx.sessionManager.getSessionId()
    const told = await run(event, ctx.cwd, { session_id, transcript_path, cwd: ctx.cwd, hook_event_name: event, ...more }, detached)
    const text = told.hookSpecificOutput?.additionalContext ?? ""
    if (told.systemMessage && ctx.hasUI) ctx.ui.notify(told.systemMessage, "info")
    return text
  }

  on("before_agent_start", async (event, ctx) => {
    if (event.messageType === "custom") return
    // what was said on a branch that was left, or before a compaction, this one does not have
    const branch = ctx.sessionManager.getBranch()
    const compaction = branch.findLastIndex((entry: any) => entry.type === "compaction")
    const told = branch.findLastIndex((entry: any) => entry.type === "custom_message" && entry.customType === "memsearch") > compaction
    const prompt = String(event.prompt ?? "").replace(SKILL, "")
    const content = await hook("BeforeAgent", ctx, { prompt, told, compacted: compaction >= 0 })
    if (content) return { message: { customType: "memsearch", content, display: false } }
  })
  // nothing can be said before an action here, so what is known about it comes with its result
  on("tool_result", async (event, ctx) => {
    const runs = event.toolName === "bash"
    if (runs ? !event.isError : !EDITS.includes(event.toolName)) return
    const call = { tool_name: event.toolName, tool_input: event.input ?? {} }
    const tool_response = (event.content ?? []).map((block: any) => block.text ?? "").join("\n")
    const mended = runs ? await hook("PostToolUse", ctx, { ...call, tool_response }) : ""
    const text = mended || (await hook("PreToolUse", ctx, call))
    if (text) return { content: [...event.content, { type: "text", text }] }
  })
  on("agent_start", () => { open = true })
  on("agent_end", (event) => {
    stopped = [...(event.messages ?? [])].reverse().find((message: any) => message.role === "assistant")?.stopReason ?? ""
  })
  on("agent_settled", (event, ctx) => {
    open = false
    return hook(event.aborted ? "Interrupt" : stopped === "error" ? "StopFailure" : "Stop", ctx, {}, true).then(() => undefined)
  })
  // older versions tell of no end but this
  on("session_shutdown", (_event, ctx) => (open ? hook("SessionEnd", ctx, {}, true).then(() => undefined) : undefined))
}
