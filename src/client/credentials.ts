import { CatalogError } from '../errors.ts'
import type { Settings } from './options.ts'

/** Gives the token to send, and another one when the server refused it. */
export interface Credentials {
  /** The token to send, if there is one. */
  current(): Promise<string | undefined>
  /** A token other requests may use instead of the `refused` one; undefined when there is no other. */
  renewed(refused: string | undefined): Promise<string | undefined>
}

/** Keeps the token, so that its source is asked once, however many requests run at the same time. */
export function credentials({ token }: Pick<Settings, 'token'>): Credentials {
  if (typeof token !== 'function') {
    return { current: async () => token, renewed: async () => undefined }
  }
  let kept: Promise<string> | undefined
  const ask = () => {
    const asked = Promise.resolve().then(token).then(checked)
    kept = asked
    asked.catch(() => {
      if (kept === asked) kept = undefined
    })
    return asked
  }
  return {
    current: () => kept ?? ask(),
    renewed: async (refused) => {
      const known = kept
      // Another request may have got a new one, or be getting it.
      if (known && (await known) !== refused) return known
      return kept === undefined || kept === known ? ask() : kept
    },
  }
}

function checked(token: unknown): string {
  if (typeof token === 'string' && isHeaderValue(token)) return token
  throw new CatalogError(
    'Unauthenticated',
    'The token function gave no token. Let it return the access token as a string without line breaks.',
  )
}

/** Whether a credential can be a header's value. What cannot must not get into an error's text either. */
export function isHeaderValue(text: string): boolean {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}
