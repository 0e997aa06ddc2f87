import { writeFileSync } from 'node:fs'
import { compare, derived, pathOf } from './derived.ts'

/*
 * `npm run derive`: writes the parts of pages that derive from the code.
 */

for (const part of derived) {
  const { is, should } = compare(part)
  if (is === should) continue
  writeFileSync(pathOf(part), should)
  console.log(`${part.page}: ${part.name ?? 'all of it'} written`)
}
