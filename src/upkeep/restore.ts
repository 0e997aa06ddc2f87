import { access, readdir, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CatalogError, invalid } from '../errors.ts'
import type { BackupOptions, BackupReport } from './backup.ts'
import { requireFree } from './folders.ts'
import type { VerifyReport } from './report.ts'

export interface RestoreOptions extends BackupOptions {
  /** Puts the copy in the place of a catalog that is there. That one is kept beside it, under another name. */
  readonly replace?: boolean | undefined
}

export interface RestoreReport extends BackupReport {
  /** Where the catalog is now that was there before. */
  readonly replaced?: string
}

/** Refuses a copy in which problems were found. */
export function requireSound(copy: string, report: VerifyReport): void {
  if (report.ok) return
  throw new CatalogError(
    'InvalidTableState',
    `The copy in ${copy} has ${report.problems} problems and is not restored. The first: ${report.findings.find(({ severity }) => severity === 'problem')?.message}`,
  )
}

/** Makes room at `target`, runs `fill`, and puts back what was there should that fail. */
export async function inPlaceOf(
  target: string,
  { replace = false }: RestoreOptions,
  fill: () => Promise<BackupReport>,
): Promise<RestoreReport> {
  const found = await readdir(target).catch(() => [])
  if (found.length === 0) {
    await requireFree(target)
    return fill()
  }
  if (!replace) {
    throw invalid(
      `${target} is not empty. Give a folder that is not there yet, or replace the catalog in it (--force, or \`replace\`).`,
    )
  }
  const { storeFiles } = await import('../backends/lmdb.ts')
  await access(join(target, storeFiles[0]!)).catch((cause) => {
    throw invalid(
      `${target} holds something else than a catalog, which is not replaced. Give another folder.`,
      {
        cause,
      },
    )
  })
  const replaced = `${resolve(target)}.replaced-${new Date().toISOString().replace(/[-:.]/g, '')}`
  await rename(target, replaced)
  try {
    return { ...(await fill()), replaced }
  } catch (error) {
    // Somebody who still has the catalog open may have made a folder there again.
    const isBack = await rename(replaced, target).then(
      () => true,
      () => false,
    )
    if (isBack) throw error
    throw new CatalogError(
      'Internal',
      `${target} could not be restored, nor put back: what was there lies in ${replaced}. Close the catalog everywhere, and give that folder its name again.`,
      { cause: error },
    )
  }
}
