import { Socket } from 'node:net'
import { CatalogError } from '../../../base/errors.ts'
import { setInterval } from '../../../base/time.ts'
import {
  type Connection,
  createNative,
  type LancePackage,
  loadLance,
  type NativeBatches,
  nativeTable,
} from '../native.ts'
import { frameReader, writeFrame } from './frames.ts'
import { type Answer, type Call, type Recipe, revived, type ToProcess } from './messages.ts'

/*
 * The process of Lance, which a catalog starts: `child MEMORY CHECK`, in bytes and in milliseconds. It ends when its
 * channel does, so none is left behind by a catalog that was killed.
 */

/** From how many bytes on a portion of batches is sent. */
const portionBytes = 1 << 20
const [mostMemory, checkMillis] = process.argv.slice(2).map(Number) as [number, number]
const channel = new Socket({ fd: 3, readable: true, writable: true })
/** By the ids of the calls that made them. */
const handles = new Map<number, unknown>()
let memory = process.memoryUsage.rss()

// A terminal and a service manager tell all processes to end. The catalog ends this one once it needs it no more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// Threads of Lance may be at work, and an orderly exit would wait for them, or crash among them.
const end = () => process.kill(process.pid, 'SIGKILL')

channel.on('close', end)
channel.on('error', end)
channel.on(
  'data',
  frameReader(({ message, bytes }) => {
    const told = message as ToProcess
    if ('releases' in told) release(told.releases)
    else void answer(told, bytes)
  }),
)

setInterval(() => {
  memory = process.memoryUsage.rss()
  if (memory <= mostMemory) return
  writeFrame(channel, { tooMuchMemory: memory })
  channel.end(end)
  setInterval(end, checkMillis)
}, checkMillis)

// Each call says why, where it cannot be loaded.
await loadLance().catch(() => {})
writeFrame(channel, { started: true })

async function answer(call: Call, given: Uint8Array | undefined): Promise<void> {
  const { id } = call
  try {
    const value = await run(call, given)
    if (call.keeps) handles.set(id, value)
    if (isBatches(value)) return await portion(id, value)
    const isBytes = value instanceof Uint8Array
    const told: Answer = { id, memory, ...(!isBytes && !call.keeps && { value }) }
    writeFrame(channel, told, isBytes ? [value] : undefined)
  } catch (error) {
    // The caller learns of no handle.
    release(id)
    const message = error instanceof Error ? error.message : String(error)
    const code = error instanceof CatalogError ? { code: error.code } : {}
    writeFrame(channel, { id, error: { message, ...code }, memory } satisfies Answer)
  }
}

function isBatches(value: unknown): value is NativeBatches {
  return typeof (value as Partial<NativeBatches> | null | undefined)?.next === 'function'
}

/** Answers with the next batches: each by itself would take a turn of both processes. */
async function portion(id: number, source: NativeBatches): Promise<void> {
  const pieces: Uint8Array[] = []
  const batches: [number, number][] = []
  let at = 0
  let isLast = false
  while (at < portionBytes && !isLast) {
    const batch = await source.next()
    isLast = batch === null
    if (batch === null) break
    // Values of Arrow begin at multiples of eight.
    const padding = new Uint8Array(-batch.length & 7)
    pieces.push(batch, padding)
    batches.push([at, at + batch.length])
    at += batch.length + padding.length
  }
  writeFrame(channel, { id, memory, portion: { batches, isLast } } satisfies Answer, pieces)
}

async function run({ on, steps }: Call, given: Uint8Array | undefined): Promise<unknown> {
  const lance = await loadLance()
  let target = on === 0 ? lance : handles.get(on)
  if (target === undefined) throw new Error(`Lance's process has no handle ${on}.`)
  // The next batches of a query.
  if (steps.length === 0) return target
  let found: unknown
  for (const [method, args] of steps) {
    target = found ?? target
    const real = args.map((arg) => revived(arg, given, (made) => make(lance, made)))
    if (method === 'createTable') return createNative(target as Connection, real[0] as string, given!)
    // A builder answers with the next one, or with nothing.
    found = (target as Record<string, (...args: unknown[]) => unknown>)[method]!(...real)
  }
  const [last] = steps.at(-1)!
  const value = await found
  return last === 'openTable' ? nativeTable(value as Parameters<typeof nativeTable>[0]) : value
}

function make(lance: LancePackage, { name, args, isInner }: Recipe): unknown {
  const [first, method] = name.split('.') as [keyof LancePackage, string | undefined]
  const maker = lance[first] as unknown as new (...args: readonly unknown[]) => unknown
  const made =
    method === undefined
      ? new maker(...args)
      : (maker as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[method]!(...args)
  return isInner ? (made as { readonly inner: unknown }).inner : made
}

function release(id: number): void {
  ;(handles.get(id) as { close?(): void } | undefined)?.close?.()
  handles.delete(id)
}
