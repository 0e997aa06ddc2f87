import type { Content } from '../../../base/content/content.ts'
import { CatalogError } from '../../../base/errors.ts'
import { keys } from '../../../base/store/records.ts'
import type { Writer } from '../../../base/store/store.ts'
import { type ContentRoot, segmentsOf } from '../../locations/locations.ts'
import { copiedPaths } from '../backup/copied-paths.ts'
import type { MaintenanceContext } from '../context.ts'
import { relocate } from '../relocate.ts'
import { verify } from '../verify/verify.ts'
import type { AdoptCounts } from './report.ts'
import { fill, type TwoContents, throughBoth } from './two-contents.ts'

/**
 * Copies all objects that a catalog needs into a content, unless they exist there, and verifies them. `coreOver` opens
 * the catalog with the given content as that of the original.
 */
export async function fillContent(
  coreOver: (content: Content) => MaintenanceContext,
  contents: TwoContents,
  report: AdoptCounts,
  { signal, onProgress }: { signal: AbortSignal | undefined; onProgress: () => void },
): Promise<void> {
  const core = coreOver(throughBoth(contents))
  try {
    const paths = copiedPaths(core, (_, isInside) => {
      report.tables++
      if (!isInside) report.elsewhere++
    })
    const onObject = (bytes: number | undefined) => {
      report.objects++
      if (bytes !== undefined) {
        report.copied++
        report.bytes += bytes
      }
      onProgress()
    }
    await fill(contents, paths, { signal, onObject })
  } finally {
    await core.closeEngines()
  }
  await requireWhole(coreOver(contents.target), signal)
}

async function requireWhole(core: MaintenanceContext, signal: AbortSignal | undefined): Promise<void> {
  try {
    const { findings } = await verify(core, { quick: true, store: false, signal })
    const broken = findings.filter(({ severity, kind }) => severity === 'problem' && kind === 'content')
    if (broken.length === 0) return
    throw new CatalogError(
      'InvalidTableState',
      `Rows are missing or damaged where they are to lie, in ${broken.length === 1 ? 'one place' : `${broken.length} places`}. The first: ${broken[0]!.message} Nothing of the catalog was changed.`,
    )
  } finally {
    await core.closeEngines()
  }
}

/**
 * Moves the records of a catalog to the content at a new root. Content that waits outside of the old one belongs to the
 * original.
 */
export function moveRecords(writer: Writer, roots: readonly ContentRoot[], to: string): void {
  relocate(writer, roots, to)
  const kept = segmentsOf(to)
  for (const { key } of [...writer.range({ prefix: keys.registrations })]) {
    if (!kept.every((segment, i) => key[i + 1] === segment)) writer.remove(key)
  }
}
