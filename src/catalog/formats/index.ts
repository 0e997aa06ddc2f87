/*
 * What adapters of other protocols need besides the public operations: tables of formats that the catalog does not read
 * itself, whose versions point at objects of that format.
 */

export { formatProperty } from '../lookup/properties.ts'
export { recordedByCommit } from '../transactions/work-record.ts'
export { answerLifetime, findAnswer, type KeyedRequest, keepFirstAnswer, keyedChange } from './answers.ts'
export { type LookedUp, lookUpHead, newTableLocation, type TableHead } from './heads.ts'
export { tablesWith } from './listing.ts'
export { moveTable } from './location.ts'
export {
  askAboutObject,
  makeFolders,
  outOfReach,
  putObject,
  readObject,
  removeObjects,
  type TableSigner,
  tableSigner,
} from './objects.ts'
export type { PointedVersion, TableFormat } from './table-format.ts'
