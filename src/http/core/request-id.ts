import { randomBytes } from 'node:crypto'

const sane = /^[\w.:@+=/-]{1,128}$/
const prefix = randomBytes(9).toString('base64url')
let count = 0

/** The id of a request: the one it brought, when that is safe to log and to send back, or a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && sane.test(given) ? given : `${prefix}-${(++count).toString(36)}`
}
