type Work = () => void

/**
 * The runtime's own timers as they are now, replaced or not. Browsers have no `setImmediate`: a timer would wait for 4 ms
 * there, and a channel does not. A channel would keep a process alive, but where there are processes, the runtime has
 * the function itself.
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

/** What waits for its message, in the order of the messages. */
const waiting: { work: Work | undefined }[] = []
let post: Work | undefined

/** Calls back once the event loop has looked at everything else. */
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
