/*
 * What runs operations over a store. Apart from `index.ts`, so that a client does not load it.
 */

export { catalogOptionChecks } from './handle/catalog-options.ts'
export { checkRecord, placeOf, readRecord } from './handle/catalog-record.ts'
export { makeCore, openCache, openCore } from './handle/open-core.ts'
export { openedReadOnly } from './handle/read-only.ts'
export { watchChanges } from './handle/watch.ts'
export { requireNotInherited } from './locations/inherited.ts'
export { folderUrl, tablesFolder } from './locations/locations.ts'
export { denied } from './operations/framework/authorize.ts'
export { versionQuery } from './operations/framework/route.ts'
export { runOperation } from './operations/framework/run.ts'
export { identifiersIn, subjectsInBody } from './operations/framework/subjects.ts'
export { visibleChanges } from './operations/framework/visible-changes.ts'
export { clientRules, readsLance, takeBlob } from './rows/client-rules.ts'
