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

/**
 * Calls back after the other tasks of this event loop turn. Each call has a channel of its own: in workerd, what one
 * request made does not wake another one.
 */
export function throughChannel(work: Work): { work: Work | undefined } {
  const entry: { work: Work | undefined } = { work }
  if (typeof MessageChannel === 'undefined') {
    globalThis.setTimeout(() => entry.work?.(), 0)
    return entry
  }
  const { port1, port2 } = new MessageChannel()
  Object.assign(port1, {
    onmessage: () => {
      port1.close()
      entry.work?.()
    },
  })
  port2.postMessage(undefined)
  return entry
}

function callOff(entry: { work: Work | undefined } | undefined): void {
  if (entry) entry.work = undefined
}
