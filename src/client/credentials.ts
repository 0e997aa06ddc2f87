import { CatalogError } from '../base/errors.ts'
import type { Settings } from './options.ts'

/** Provides the token to send, and a new one when the server refused it. */
export interface Credentials {
  /** The token to send; undefined without a token. */
  current(): Promise<string | undefined>
  /** A new token in place of the `refused` one; undefined when there is no other. */
  renewed(refused: string | undefined): Promise<string | undefined>
}

/** Caches the token, so that concurrent requests call the token function only once. */
export function credentials({ token }: Pick<Settings, 'token'>): Credentials {
  if (typeof token !== 'function') {
    return { current: async () => token, renewed: async () => undefined }
  }
  let cached: Promise<string> | undefined
  const ask = () => {
    const asked = Promise.resolve().then(token).then(checked)
    cached = asked
    asked.catch(() => {
      if (cached === asked) cached = undefined
    })
    return asked
  }
  return {
    current: () => cached ?? ask(),
    renewed: async (refused) => {
      const known = cached
      // Another request may have renewed the token, or be about to.
      if (known && (await known) !== refused) return known
      return cached === undefined || cached === known ? ask() : cached
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

/** Whether a credential is valid as a header value. An invalid one is still a secret: keep it out of messages. */
export function isHeaderValue(text: string): boolean {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}
