import type { Core } from '../../catalog/core.ts'
import { registrationFault } from '../../locations/registration.ts'
import { keys } from '../../store/records.ts'
import type { Findings } from './report.ts'

/** Looks at what was written down of tables that were deregistered and may be registered again. */
export async function verifyRegistrations(core: Core, findings: Findings): Promise<void> {
  const waiting = await core.store.read((reader) => [...reader.range<string>({ prefix: keys.registrations })])
  for (const { key, value: path } of waiting) {
    findings.progress('content')
    findings.counts.objects++
    const fault = await registrationFault(core, key.slice(1).map(String), path)
    if (fault === undefined) continue
    // What was registered, or dropped, meanwhile needs it no more.
    if ((await core.store.read((reader) => reader.get<string>(key))) !== path) continue
    findings.add({
      severity: 'problem',
      kind: 'content',
      where: path,
      message: `The registration ${JSON.stringify(path)} ${fault}. Restore it from a backup, or register its location without its history.`,
    })
  }
}
