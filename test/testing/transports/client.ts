import type { Duplex } from 'node:stream'
import {
  CatalogError,
  type OperationMethods,
  type OperationName,
  type OperationOptions,
  operations,
} from 'tabularium'
import { type Answered, receive, send } from './lines.ts'

interface Waiting {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The catalog at the other end of a stream: every operation of the record as a method. */
export function connectLines(stream: Duplex): OperationMethods & { close(): Promise<void> } {
  const waiting = new Map<number, Waiting>()
  let calls = 0

  const ended = receive<Answered>(stream, ({ call, answer, error }) => {
    const { resolve, reject } = waiting.get(call) ?? {}
    waiting.delete(call)
    if (error) reject?.(new CatalogError(error.code, error.message, error))
    else resolve?.(answer)
  }).finally(() => {
    for (const { reject } of waiting.values()) reject(cutOff())
    waiting.clear()
  })

  function call(operation: OperationName, request: unknown, options: OperationOptions = {}) {
    const { signal, transaction } = options
    return new Promise<unknown>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (!stream.writable) return reject(cutOff())
      const number = calls++
      waiting.set(number, { resolve, reject })
      signal?.addEventListener('abort', () => {
        if (!waiting.delete(number)) return
        send(stream, { call: number, stop: true })
        reject(signal.reason)
      })
      send(stream, { call: number, operation, request, transaction })
    })
  }

  const methods = Object.keys(operations).map((name) => [
    name,
    (request: unknown, options?: OperationOptions) => call(name as OperationName, request, options),
  ])
  const close = async () => {
    stream.end()
    await ended
  }
  return Object.assign(Object.fromEntries(methods) as OperationMethods, { close })
}

function cutOff(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'The connection to the catalog ended. Connect again.')
}
