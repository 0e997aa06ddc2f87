import { Buffer as Bytes } from 'buffer'

/*
 * Globals of Node, for runtimes that have those of the web alone. The build puts them in place of the names that the
 * sources use; what nobody uses is left out.
 */

export const Buffer = Bytes

export const process = {
  platform: 'web',
  env: {} as Readonly<Record<string, string | undefined>>,
  emitWarning: (warning: unknown) => console.warn(warning),
}

/** Engines without `await using` have no such symbol. Compilers that make it work there agree on this one. */
export const asyncDispose: symbol =
  (Reflect.get(Symbol, 'asyncDispose') as symbol | undefined) ?? Symbol.for('Symbol.asyncDispose')

type Later = (work: () => void) => void

/**
 * Calls back once the event loop has looked at everything else. A timer of a browser would wait for 4 ms. A channel
 * would keep a process alive, but where there are processes, the runtime has the function itself.
 */
export const setImmediate: Later = (work) => {
  own ??= (Reflect.get(globalThis, 'setImmediate') as Later | undefined) ?? throughChannel()
  own(work)
}

let own: Later | undefined

function throughChannel(): Later {
  if (typeof MessageChannel === 'undefined') return (work) => setTimeout(work, 0)
  const waiting: (() => void)[] = []
  const { port1, port2 } = new MessageChannel()
  Object.assign(port1, { onmessage: () => waiting.shift()?.() })
  return (work) => {
    waiting.push(work)
    port2.postMessage(undefined)
  }
}
