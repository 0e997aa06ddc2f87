import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { neededDeclarations } from './declarations.js'
import { licensesOf } from './licenses.js'
import { classesOf, forCommonJs } from './types.js'
import { wholeClient } from './web.js'

/*
 * Builds the package `tabularium-client`: the client of the web with all that it needs from packages, so that it
 * depends on none. Its version, author and license are those of `tabularium`.
 */

/** Where the package lies in the folder of the build. */
const place = 'packages/tabularium-client'
const page = 'docs/light-client.md'

/** Builds it into a folder that has the declarations of `tabularium`. */
export async function writeLightClient(outdir) {
  const folder = join(outdir, place)
  const { files, exports, packages } = await wholeClient(resolve(folder))
  for (const { path, contents } of files) write(path, contents)

  const declarations = neededDeclarations(resolve(outdir, 'client/index.d.ts'))
  for (const [name, text] of declarations) write(join(folder, 'client', name), text)
  const classes = new Set([...declarations.values()].flatMap(classesOf))
  write(join(folder, 'client/index.d.cts'), forCommonJs('client/index.d.ts', exports, classes))

  write(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  write(join(folder, 'README.md'), readme())
  write(join(folder, 'licenses.txt'), licensesOf(packages))
  cpSync('LICENSE', join(folder, 'LICENSE'))
}

function manifest() {
  const { version, keywords, author, homepage, repository, bugs, license, engines } = ownManifest()
  return {
    name: 'tabularium-client',
    version,
    description: 'A client of Tabularium, a table catalog: for browsers, edge runtimes, Deno, Bun and Node.',
    keywords: [...keywords.filter((word) => !/lmdb|embedded/.test(word)), 'client'],
    ...{ author, homepage, repository, bugs, license },
    type: 'module',
    engines,
    sideEffects: false,
    exports: {
      '.': {
        types: { require: './client/index.d.cts', default: './client/index.d.ts' },
        default: './client/index.js',
      },
      './package.json': './package.json',
    },
  }
}

/** The page about it, whose links to other files lead to the repository. */
function readme() {
  const { homepage } = ownManifest()
  const absolute = (_, path) => `](${new URL(path, `${homepage}/${page}`)})`
  return readFileSync(page, 'utf8').replace(/\]\((?!https?:|#)([^)]+)\)/g, absolute)
}

function ownManifest() {
  return JSON.parse(readFileSync('package.json', 'utf8'))
}

function write(path, contents) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}
