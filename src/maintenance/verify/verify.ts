import type { Core } from '../../catalog/core.ts'
import type { StoreInspection } from '../../store/store.ts'
import { verifyContent } from './content.ts'
import { findLostFolders } from './leftovers.ts'
import { verifyRecords } from './records.ts'
import { verifyRegistrations } from './registrations.ts'
import { Findings, type VerifyOptions, type VerifyReport } from './report.ts'

/** Looks at everything a catalog holds and tells what is wrong, by name and place; see `LocalCatalog.verify`. */
export async function verify(core: Core, options: VerifyOptions = {}): Promise<VerifyReport> {
  const findings = new Findings(options)
  findings.progress('store')
  if (core.store.inspect && options.store !== false) {
    const inspection = await core.store.inspect({ signal: options.signal })
    // Reading on could bring the process down.
    if (inspection.damage.length > 0) return damagedStore(core.places.roots[0]!.url, inspection, options)
  }
  await verifyRecords(core, findings)
  await verifyContent(core, findings, options)
  await verifyRegistrations(core, findings)
  await findLostFolders(core, findings)
  return findings.report()
}

/** The report on a catalog whose store cannot be trusted: what hangs on it was not looked at. */
export function damagedStore(
  where: string,
  { damage, records }: StoreInspection,
  options: VerifyOptions = {},
): VerifyReport {
  const findings = new Findings(options)
  findings.complete = false
  findings.counts.records = records
  for (const says of damage) {
    findings.add({
      severity: 'problem',
      kind: 'store',
      where,
      message: `The store file is damaged: ${says}. Close the catalog and restore it from a backup.`,
    })
  }
  return findings.report()
}
