const { performance: found, Performance: Class } = globalThis as unknown as {
  readonly performance: { readonly timeOrigin: number }
  readonly Performance: new () => object
}

/** The clock of the runtime. One that a test suite put in its place says nothing; the time of events is of the same clock. */
export const performance: { readonly timeOrigin: number } =
  typeof Class === 'function' && found instanceof Class
    ? found
    : Object.assign(Object.create({ now: () => new Event('now').timeStamp }), {
        timeOrigin: Date.now() - new Event('now').timeStamp,
      })
