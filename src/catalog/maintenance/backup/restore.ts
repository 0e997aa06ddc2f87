import { access, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { wallClock } from '../../../base/time.ts'
import type { VerifyReport } from '../verify/report.ts'
import type { BackupOptions, BackupReport } from './backup.ts'

export interface RestoreOptions extends BackupOptions {
  /** Replaces an existing catalog, which is kept beside the new one under another name. */
  readonly replace?: boolean | undefined
}

export interface RestoreReport extends BackupReport {
  /** The new path of the replaced catalog. */
  readonly replaced?: string
}

/** Refuses a copy in which the verification found problems. */
export function requireSound(copy: string, report: VerifyReport): void {
  if (report.ok) return
  throw new CatalogError(
    'InvalidTableState',
    `The copy in ${copy} has ${report.problems} problems and is not restored. The first: ${report.findings.find(({ severity }) => severity === 'problem')?.message}`,
  )
}

/** The path for the catalog at `target` when it is replaced; undefined when `target` is empty or missing. */
export async function asideOf(
  target: string,
  { replace = false }: RestoreOptions,
): Promise<string | undefined> {
  const found = await readdir(target).catch(() => [])
  if (found.length === 0) return undefined
  if (!replace) {
    throw invalid(
      `${target} is not empty. Give a folder that does not exist yet, or replace the catalog in it (--force, or \`replace\`).`,
    )
  }
  const { storeFiles } = await import('../../../stores/lmdb/index.ts')
  await access(join(target, storeFiles[0]!)).catch((cause) => {
    throw invalid(
      `${target} holds something other than a catalog, which is not replaced. Give another folder.`,
      {
        cause,
      },
    )
  })
  return `${resolve(target)}.replaced-${new Date(wallClock()).toISOString().replace(/[-:.]/g, '')}`
}
