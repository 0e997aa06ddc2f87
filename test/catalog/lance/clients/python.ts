import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The releases of Lance for Python that are tried. LanceDB's client for Node brings another one. */
export const releases = ['14.0.2', '12.0.0'] as const

const folderOf = (release: string) =>
  fileURLToPath(new URL(`../../../../node_modules/.cache/pylance-${release}`, import.meta.url))

/** Python with a release of Lance, if `setUp` has brought it. */
export async function pythonWith(release: string): Promise<string | undefined> {
  const python = `${folderOf(release)}/bin/python`
  // The last step of setting up.
  return access(`${folderOf(release)}/ready`).then(
    () => python,
    () => undefined,
  )
}

/** All of them that are there. Says on the console if one is not. */
export async function foundPythons(): Promise<string[]> {
  const found = await Promise.all(releases.map(pythonWith))
  if (found.includes(undefined))
    console.warn('Lance for Python is left out: `npm run soak -- --only lance` brings it.')
  return found.filter((python) => python !== undefined)
}

/** As {@link pythonWith}, but skips the running test aloud where there is none. */
export async function requirePython(release: string, skip: (note: string) => never): Promise<string> {
  const python = await pythonWith(release)
  return (
    python ?? skip(`Lance ${release} for Python is not there: \`npm run soak -- --only lance\` brings it.`)
  )
}

/** Makes an environment with a release of Lance. Undefined, with the reason on the console, where that fails. */
export async function setUp(release: string): Promise<string | undefined> {
  const found = await pythonWith(release)
  if (found !== undefined) return found
  const folder = folderOf(release)
  try {
    await run('python3', ['-m', 'venv', '--clear', folder])
    await run(
      `${folder}/bin/pip`,
      ['install', '--quiet', '--disable-pip-version-check', `pylance==${release}`],
      {
        timeout: 600_000,
      },
    )
    await run(`${folder}/bin/python`, [
      '-c',
      `import lance, lance_namespace, pathlib; pathlib.Path(${JSON.stringify(`${folder}/ready`)}).touch()`,
    ])
    return `${folder}/bin/python`
  } catch (error) {
    console.warn(`Lance ${release} for Python is left out: ${(error as Error).message.slice(0, 500)}`)
    return undefined
  }
}
