import fc from 'fast-check'
import { countBegins } from '../../src/catalog/transactions/upkeep.ts'

/*
 * Random tests draw the same values on every run, so that a failure means a change. FC_SEED explores others.
 */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 20_261_120) })

/*
 * Upkeep begins after a thousand changes of a process, and by itself counts from a random number on. Then it would begin in
 * the middle of any test now and then, and tests that count reads and writes would count its own.
 */
countBegins.at = () => 0

/*
 * Callers and contents may give a Buffer for a Uint8Array. Of a Buffer, `slice` is a view and no copy, which once made
 * wrong values of bytes that were not aligned. So the package calls it for no bytes.
 */
const { slice } = Buffer.prototype

function checkedSlice(this: Buffer, ...range: [number?, number?]): Buffer {
  const caller = callerOf(checkedSlice)
  if (/\/src\//.test(caller) && !caller.includes('/node_modules/'))
    throw new Error(
      `slice of a Buffer is called in ${caller}. Use new Uint8Array for a copy, subarray for a view.`,
    )
  return slice.apply(this, range)
}

// A worker runs this for each file of tests.
if (slice.name !== checkedSlice.name) Buffer.prototype.slice = checkedSlice as typeof slice

/** The file that called a function. Drivers call often, and a whole stack takes a millisecond to be mapped to sources. */
function callerOf(called: (...given: never[]) => unknown): string {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.stackTraceLimit = 1
  Error.prepareStackTrace = (_, [site]) => site?.getFileName() ?? ''
  const at = { stack: '' }
  Error.captureStackTrace(at, called)
  const file = String(at.stack)
  Object.assign(Error, { prepareStackTrace, stackTraceLimit })
  return file
}
