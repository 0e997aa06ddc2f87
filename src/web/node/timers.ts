type Work = () => void

/**
 * The runtime's current timers, faked or not. Browsers have no `setImmediate`: a timer would wait 4 ms there, and a
 * message channel does not. A channel would keep a process alive, but runtimes with processes have `setImmediate`.
 */
export default {
  get setTimeout() {
    return globalThis.setTimeout
  },
  get clearTimeout() {
    return globalThis.clearTimeout
  },
  get setInterval() {
    return globalThis.setInterval
  },
  get clearInterval() {
    return globalThis.clearInterval
  },
  get setImmediate() {
    return (Reflect.get(globalThis, 'setImmediate') as unknown) ?? throughChannel
  },
  get clearImmediate() {
    return (Reflect.get(globalThis, 'clearImmediate') as unknown) ?? callOff
  },
}

/** Callbacks that wait for their message, in message order. */
const waiting: { work: Work | undefined }[] = []
let post: Work | undefined

/** Calls back after the other tasks of this event loop turn. */
export function throughChannel(work: Work): object {
  post ??= channel()
  const entry = { work }
  waiting.push(entry)
  post()
  return entry
}

function callOff(entry: { work: Work | undefined } | undefined): void {
  if (entry) entry.work = undefined
}

function channel(): Work {
  const next = () => waiting.shift()?.work?.()
  if (typeof MessageChannel === 'undefined') return () => globalThis.setTimeout(next, 0)
  const { port1, port2 } = new MessageChannel()
  Object.assign(port1, { onmessage: next })
  return () => port2.postMessage(undefined)
}
