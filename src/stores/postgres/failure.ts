import { CatalogError, type ErrorCode, unsupported } from '../../base/errors.ts'

interface Explanation {
  readonly code: ErrorCode
  /** The end of a message that begins with the location of the catalog. */
  readonly text: string
  /**
   * Whether only an operator can fix it. The code is still `ServiceUnavailable`, unless the caller made the mistake.
   */
  readonly isPermanent?: true
}

const notMigrated: Explanation = {
  code: 'InvalidInput',
  text: 'it holds no catalog. Run `tabularium migrate` with its URL once, or check the URL.',
}
const refused: Explanation = {
  code: 'PermissionDenied',
  text: 'the server refused the user or the password. Check both; the password may also lie in PGPASSWORD or in a password file.',
}
const tooBusy: Explanation = {
  code: 'ServiceUnavailable',
  text: 'the server, or a pooler before it, is out of memory or of connections. Try again in a moment, or give it more.',
}
const tooLong: Explanation = {
  code: 'ServiceUnavailable',
  text: 'the server took longer than it lets a statement take. Try again when it has less to do, or raise statement_timeout and transaction_timeout of its user.',
}
const stopping: Explanation = {
  code: 'ServiceUnavailable',
  text: 'the server is starting, stopping or out of reach. Try again in a moment.',
}
const isReadOnly: Explanation = {
  code: 'PermissionDenied',
  text: 'the database is read-only. Name the primary server, or switch default_transaction_read_only off for its user.',
}

/** By SQLSTATE, or by its class. Source: appendix A of PostgreSQL's manual. */
const explanations: Readonly<Record<string, Explanation>> = {
  '3D000': { code: 'InvalidInput', text: 'the server has no such database. Create it, or check the URL.' },
  '3F000': notMigrated,
  '42P01': notMigrated,
  '42883': notMigrated,
  '28000': refused,
  '28P01': refused,
  '42501': {
    code: 'PermissionDenied',
    text: 'this user lacks a privilege. A catalog needs USAGE of its schema, EXECUTE of its functions, and SELECT, INSERT, UPDATE and DELETE of its tables.',
  },
  '25006': isReadOnly,
  '53100': {
    code: 'ServiceUnavailable',
    text: "the server's disk is full, nothing of the change was kept. Free some space and try again.",
  },
  '53400': {
    code: 'ServiceUnavailable',
    text: 'a limit that the server sets its user was reached, such as temp_file_limit. Raise it.',
  },
  '53': tooBusy,
  '57014': tooLong,
  '25P04': tooLong,
  '57P01': stopping,
  '57P02': stopping,
  '57P03': stopping,
  '57P05': stopping,
  '25P03': stopping,
  '25': {
    code: 'InvalidInput',
    text: 'a pooler before the server runs the statements of a transaction in another way than they were sent. Set it to transaction or session mode, and Pgpool-II to the mode raw.',
  },
  '08': stopping,
  '08P01': {
    code: 'InvalidInput',
    text: 'the server, or a pooler before it, refused what a connection asks for. A pooler must be in transaction or session mode. See the cause of this error.',
  },
  '40': {
    code: 'ServiceUnavailable',
    text: 'too many changes meet there, nothing of this one was kept. Try again in a moment.',
  },
  '55P03': {
    code: 'ServiceUnavailable',
    text: 'other changes kept it busy for too long, nothing of this one was kept. Try again in a moment.',
  },
}

/** Errors of the network and of TLS, by the code of the system or of Node. */
const networkCodes = /^(?:E(?:CONN|HOST|NET|PIPE|TIMEDOUT|AI_)|ENOTFOUND|ENOENT|EACCES)/
const certificateCodes = /CERT|SIGNATURE|^ERR_TLS/
const tlsCodes = /^(?:ERR_SSL|ERR_OSSL|EPROTO)/

/** Turns an error into a `CatalogError`. A `CatalogError` is returned as it is. */
export function explain(error: unknown, label: string): CatalogError {
  if (error instanceof CatalogError) return error
  const { code, text } = explanationOf(error)
  return new CatalogError(code, `Cannot use ${label}: ${text}`, { cause: error })
}

/** Whether an error may be temporary, so that waiting for the database and retrying makes sense. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof CatalogError) || error.code !== 'ServiceUnavailable') return false
  return !explanationOf(error.cause).isPermanent
}

/**
 * The error of the first statement on a connection, or a refusal where PostgreSQL never gives this error there: then
 * the server is another engine.
 */
export function refusalOfEngine(error: unknown, label: string): unknown {
  const state = stateOf(error)
  if (state === undefined) return error
  const isKnown = state !== '42883' && (state in explanations || state.slice(0, 2) in explanations)
  if (isKnown) return error
  return unsupported(
    `Cannot use ${label}: the server speaks as PostgreSQL does, and is another engine (it answered ${state}).`,
    'Use PostgreSQL 12 or later.',
    { cause: error },
  )
}

function explanationOf(error: unknown): Explanation {
  const state = stateOf(error)
  if (state !== undefined) {
    const known = explanations[state] ?? explanations[state.slice(0, 2)]
    return known ?? { code: 'Internal', text: `the server answered ${state}. See the cause of this error.` }
  }
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  if (tlsCodes.test(code)) {
    return {
      code: 'ServiceUnavailable',
      text: `the server and this machine do not agree on TLS (${code}). Check sslmode, sslcert and sslkey, and the versions of TLS there. See the cause of this error.`,
      isPermanent: true,
    }
  }
  if (certificateCodes.test(code)) {
    return {
      code: 'ServiceUnavailable',
      text: `the certificate of the server could not be verified (${code}). Give the certificate of its authority by sslrootcert, or check the host.`,
      isPermanent: true,
    }
  }
  if (/does not support SSL/.test(message)) {
    return {
      code: 'ServiceUnavailable',
      text: 'the server speaks no TLS. Set it up there, or add sslmode=disable where the network is your own.',
      isPermanent: true,
    }
  }
  if (/password must be a string|no password/i.test(message)) {
    return {
      code: 'PermissionDenied',
      text: 'the server wants a password. Give it in PGPASSWORD, in a password file or in the URL.',
    }
  }
  if (networkCodes.test(code)) {
    return {
      code: 'ServiceUnavailable',
      text: `the server cannot be reached (${code}). Check that it runs, and its host and port.`,
      // This user lacks the permission for the socket.
      ...(code === 'EACCES' && { isPermanent: true }),
    }
  }
  if (isLost(error)) return stopping
  return { code: 'Internal', text: 'an unexpected error. See the cause of this error.' }
}

/**
 * The meaning of 08P01 from PgBouncer, which uses it for nearly everything. Source: its releases 1.18 to 1.24. Messages
 * that are not listed are permanent refusals.
 */
const meantByPooler: readonly (readonly [said: RegExp, state: string])[] = [
  [/authentication failed|no such user|password/i, '28P01'],
  [/no such database|database .* does not exist/i, '3D000'],
  [/no more connections|query_wait_timeout|memory/i, '53300'],
  [/timeout|crashed|cannot connect|has been failing|shut|closed|lifetime|invalid server parameter/i, '08006'],
]

/** The SQLSTATE of an error that the server sent, or a pooler before it. */
export function stateOf(error: unknown): string | undefined {
  const { code, severity, message } = (error ?? {}) as {
    code?: unknown
    severity?: unknown
    message?: unknown
  }
  if (typeof code !== 'string' || typeof severity !== 'string' || !/^[0-9A-Z]{5}$/.test(code))
    return undefined
  if (code !== '08P01' || typeof message !== 'string') return code
  return meantByPooler.find(([said]) => said.test(message))?.[1] ?? code
}

/** Whether the same statement may succeed on the next attempt. */
export function isConflict(error: unknown): boolean {
  const state = stateOf(error)
  // A duplicate commit id counts as well: the next attempt uses another one.
  return state === '40001' || state === '40P01' || state === '55P03' || state === '23505'
}

/** A temporary refusal of a server. After a failover, another server may answer at its address. */
export class UnfitServer extends CatalogError {
  constructor(label: string, text: string) {
    super('ServiceUnavailable', `Cannot use ${label}: ${text}`)
  }
}

/** Whether the connection ended, or could not be made: another one may succeed. */
export function isLost(error: unknown): boolean {
  if (error instanceof CatalogError) return error instanceof UnfitServer
  const state = stateOf(error)
  if (state !== undefined) return /^(?:08(?!P01)|57P0|53300|25P03)/.test(state)
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  return (
    networkCodes.test(code) ||
    /Connection terminated|not queryable|Query read timeout|timeout expired|closed/i.test(message)
  )
}

/** Whether the user, or the database, may not write, or the server's disk is full. */
export function cannotWrite(error: unknown): boolean {
  const state = stateOf(error)
  return state === '42501' || state === '25006' || state === '53100'
}

/** Whether the server's lock table is full. */
export function lacksLocks(error: unknown): boolean {
  return stateOf(error) === '53200'
}
