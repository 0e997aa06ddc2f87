import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The licenses of packages that are bundled, as one text. */
export function licensesOf(names) {
  return names.map(licenseOf).join('\n')
}

function licenseOf(name) {
  const folder = join('node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const [file] = ['LICENSE', 'LICENSE.md'].filter((file) => existsSync(join(folder, file)))
  return `${name} ${version}, ${license}\n\n${readFileSync(join(folder, file), 'utf8')}`
}
