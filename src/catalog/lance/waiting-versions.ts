import type { TableVersion } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { VersionRecord } from '../../base/store/records.ts'
import type { Core, Staging } from '../handle/core.ts'
import { nameOf, waitingPathOf } from '../locations/lance-files.ts'
import { toTableVersion } from '../lookup/versions.ts'
import type { DatasetFolder } from './dataset.ts'

export interface WaitingVersion {
  readonly id: Identifier
  readonly branch: string
  readonly version: number
  /** The internal id of its table. */
  readonly table: string
  readonly folder: DatasetFolder
  /** The manifest as its writer named it in the request. */
  readonly staging_path: string
}

/** By transaction, and by the names that their writers gave the manifests. */
const waiting = new WeakMap<Staging, Map<string, WaitingVersion>>()

/** The versions of a transaction whose manifests wait for its commit. */
export function waitingVersions(staging: Staging): Map<string, WaitingVersion> {
  const found = waiting.get(staging)
  if (found !== undefined) return found
  const made = new Map<string, WaitingVersion>()
  waiting.set(staging, made)
  return made
}

/** Whether a version waits for the commit of the transaction that `core` is inside of. */
export function isWaiting({ staging }: Core, { staging_path }: VersionRecord): boolean {
  if (staging === undefined || staging_path === undefined) return false
  return waiting.get(staging)?.has(staging_path) === true
}

/** A version in the form of responses, with the path at which the caller finds its manifest. */
export function toVersionFor(core: Core, version: number, record: VersionRecord): TableVersion {
  const described = toTableVersion(version, record)
  if (!isWaiting(core, record)) return described
  const staging_path = record.staging_path!
  const { folder } = waiting.get(core.staging!)!.get(staging_path)!
  const path = waitingPathOf(core.staging!.transactionId, nameOf(staging_path))
  return { ...described, manifest_path: folder.objectPath + path }
}
