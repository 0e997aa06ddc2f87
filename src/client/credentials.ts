import { CatalogError } from '../base/errors.ts'
import type { Settings } from './options.ts'
import { isHeaderValue } from './options.ts'

/** Provides the access token, and a new one after the server refused it. */
export interface Credentials {
  /** The token to send; undefined without a token. */
  current(): Promise<string | undefined>
  /** A token other than the `refused` one; undefined when there is none. */
  renewed(refused: string | undefined): Promise<string | undefined>
}

/** Caches the token, so that concurrent requests call the token function once. */
export function credentials({ token }: Pick<Settings, 'token'>): Credentials {
  if (typeof token !== 'function') {
    return { current: async () => token, renewed: async () => undefined }
  }
  let cached: Promise<string> | undefined
  const request = () => {
    const requested = Promise.resolve().then(token).then(checked)
    cached = requested
    requested.catch(() => {
      if (cached === requested) cached = undefined
    })
    return requested
  }
  return {
    current: () => cached ?? request(),
    renewed: async (refused) => {
      const known = cached
      // Another request may have renewed the token, or may be renewing it now.
      if (known && (await known) !== refused) return known
      return cached === undefined || cached === known ? request() : cached
    },
  }
}

function checked(token: unknown): string {
  if (typeof token === 'string' && isHeaderValue(token)) return token
  throw new CatalogError(
    'Unauthenticated',
    'The token function returned no valid token. Let it return the access token as a string without line breaks.',
  )
}
