/** The entry of a request's context that names the caller. A server sets it; a request over HTTP cannot. */
export const principalKey = 'principal'

/** The caller whom a server named; undefined in process, and when a server accepts every caller. */
export function principalOf(request: unknown): string | undefined {
  const { context } = (request ?? {}) as { context?: Readonly<Record<string, unknown>> | null }
  const name = context?.[principalKey]
  return typeof name === 'string' ? name : undefined
}
