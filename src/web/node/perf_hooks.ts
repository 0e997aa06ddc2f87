const { performance: found, Performance: Class } = globalThis as unknown as {
  readonly performance: { readonly timeOrigin: number }
  readonly Performance: new () => object
}

/** The runtime's monotonic clock. If a test suite faked it, reads it from the timestamps of events instead. */
export const performance: { readonly timeOrigin: number } =
  typeof Class === 'function' && found instanceof Class
    ? found
    : Object.assign(Object.create({ now: () => new Event('now').timeStamp }), {
        timeOrigin: Date.now() - new Event('now').timeStamp,
      })
