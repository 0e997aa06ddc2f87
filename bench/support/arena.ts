import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { grewElsewhere, watched } from './memory.ts'

/** Work to be timed: does it so many times and answers with microseconds each. */
export type Runner = (times: number) => number | Promise<number>

/** Contenders in a process of their own, so that what one holds does not slow down another. */
export interface Arena {
  /** Has the contender work, and answers with microseconds each. */
  run(contender: string, times: number): Promise<number>
  /** The names of its contenders. */
  readonly contenders: ReadonlySet<string>
  close(): Promise<void>
}

type Reply = { readonly value: number; readonly grew: number | undefined } | { readonly error: string }

/** Starts the arena that a module serves. */
export async function openArena(module: string, ...args: string[]): Promise<Arena> {
  const child = fork(fileURLToPath(new URL(`./arenas/${module}.ts`, import.meta.url)), args)
  const [names] = (await firstMessage(child)) as [string[]]
  return {
    contenders: new Set(names),
    async run(contender, times) {
      child.send({ contender, times })
      const [reply] = (await firstMessage(child)) as [Reply]
      if ('error' in reply) throw new Error(reply.error)
      grewElsewhere(reply.grew)
      return reply.value
    },
    async close() {
      if (child.exitCode !== null) return
      child.kill()
      await once(child, 'exit')
    },
  }
}

/** Serves contenders from a process that {@link openArena} started. */
export function serveArena(contenders: Readonly<Record<string, Runner>>): void {
  process.on('message', async ({ contender, times }: { contender: string; times: number }) => {
    try {
      process.send!(await watched(() => contenders[contender]!(times)))
    } catch (error) {
      process.send!({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
  process.send!(Object.keys(contenders))
}

async function firstMessage(child: ChildProcess): Promise<unknown[]> {
  const ended = new AbortController()
  const gone = once(child, 'exit', { signal: ended.signal }).then(([code, signal]) => {
    throw new Error(`A process of the benchmark ended early (${signal ?? code}).`)
  })
  gone.catch(() => {})
  try {
    return (await Promise.race([once(child, 'message', { signal: ended.signal }), gone])) as unknown[]
  } finally {
    ended.abort()
  }
}
