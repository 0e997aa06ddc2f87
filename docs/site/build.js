import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import { build } from 'vitepress'

/*
 * Makes a site of the pages of the project, in `dist/` beside this file or in the folder that is named: all pages, with
 * search, and a reference of everything that is exported, made from its comments.
 */

const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../..')
const pages = join(here, '.pages')
const outDir = process.argv[2] ?? join(here, 'dist')
const { repository, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const source = `${repository.url.replace(/^git\+/, '').replace(/\.git$/, '')}/blob/main`

rmSync(pages, { recursive: true, force: true })
const folders = ['', 'docs', 'docs/decisions', 'bench', 'test', ...foldersOf('examples')]
const names = new Set(
  folders.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => posix.join(folder, name)),
  ),
)
for (const name of names) writePage(name, pageOf(name))
cpSync(join(root, 'bench/report'), join(pages, 'bench/report'), { recursive: true })
await writeReference()
await build(here, { outDir })

/** A folder, and those of it that hold a page of their own. */
function foldersOf(folder) {
  return [folder, ...readdirSync(join(root, folder)).map((name) => posix.join(folder, name))].filter((name) =>
    existsSync(join(root, name, 'README.md')),
  )
}

function writePage(name, text) {
  const path = join(pages, asPage(name))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** A folder's README is its first page. */
function asPage(name) {
  return name.replace(/README\.md$/, 'index.md')
}

/** A page whose links to other pages lead to these, and whose links to sources lead to the repository. */
function pageOf(name) {
  const text = readFileSync(join(root, name), 'utf8').replace(/^<!--.*?-->\n/gms, '')
  return text.replace(/(\]\()(?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)/g, (_, begin, path, heading = '') => {
    const target = posix.join(posix.dirname(name), path)
    const isHere = names.has(target) || target.startsWith('bench/report/')
    return `${begin}${isHere ? asPage(path) : `${source}/${target}`}${heading})`
  })
}

/** The reference of each entry point, from the declarations that users install. */
async function writeReference() {
  const declared = new Map(
    Object.entries(exports).flatMap(([name, { types }]) =>
      types === undefined ? [] : [[join(root, types.default), name]],
    ),
  )
  const entryPoints = [...declared.keys()]
  if (!existsSync(entryPoints[0])) {
    execFileSync('npm', ['run', 'build'], {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
    })
  }
  const reference = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    name: 'Reference',
    entryPoints,
    tsconfig: join(here, 'tsconfig.json'),
    out: join(pages, 'api'),
    readme: 'none',
    entryFileName: 'index',
    excludeExternals: true,
    skipErrorChecking: true,
    logLevel: 'Error',
    hidePageHeader: true,
    useHTMLEncodedBrackets: true,
  })
  const project = await reference.convert()
  for (const module of project?.children ?? []) {
    const [file] = module.sources?.map(({ fullFileName }) => fullFileName) ?? []
    module.name = posix.join('tabularium', declared.get(file))
  }
  // Where a declaration stands in the package says nothing to readers.
  for (const reflection of Object.values(project?.reflections ?? {})) delete reflection.sources
  if (project === undefined) throw new Error('The declarations could not be read.')
  await reference.generateOutputs(project)
  if (reference.logger.hasErrors()) throw new Error('The reference could not be written.')
}
