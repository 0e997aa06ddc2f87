import type { Content } from '../base/content/content.ts'
import { invalid, unsupported } from '../base/errors.ts'

/** How to open the content of a URL scheme. */
interface Scheme {
  /** The package that it needs. */
  readonly needs?: string
  open(url: string): Promise<{ readonly content: Content; readonly root: string }>
}

const azure: Scheme = {
  needs: '@azure/storage-blob',
  async open(url) {
    const { openAzure, parseAzureUrl } = await import('./azure/index.ts')
    return { content: await openAzure(url), root: parseAzureUrl(url).root }
  },
}

const schemes: Readonly<Record<string, Scheme>> = {
  file: {
    async open(url) {
      const [{ fileContent }, { requireFolder }] = await Promise.all([
        import('./files/index.ts'),
        import('./files/require-folder.ts'),
      ])
      return { content: fileContent(await requireFolder(url)), root: `${url.replace(/\/+$/, '')}/` }
    },
  },
  s3: {
    needs: '@aws-sdk/client-s3',
    async open(url) {
      const { openS3, parseS3Url } = await import('./s3/index.ts')
      return { content: openS3(url), root: parseS3Url(url).root }
    },
  },
  gs: {
    needs: '@google-cloud/storage',
    async open(url) {
      const { openGcs, parseGcsUrl } = await import('./gcs/index.ts')
      return { content: openGcs(url), root: parseGcsUrl(url).root }
    },
  },
  az: azure,
  azure,
}

/** Opens the content at a URL. The package exports it, with its documentation. */
export async function openContent(url: string): Promise<Content> {
  return (await openContentAt(url)).content
}

/** As {@link openContent}, with the normalized root URL of table locations, which ends in a slash. */
export async function openContentAt(
  url: string,
): Promise<{ readonly content: Content; readonly root: string }> {
  const name = /^([a-z][a-z\d+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase() ?? ''
  const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined
  if (scheme === undefined) {
    const known = Object.keys(schemes).map((known) => `${known}://`)
    throw invalid(
      `Rows lie at a URL that begins with ${known.join(' or ')}. Write, for example, s3://bucket/prefix.`,
    )
  }
  try {
    return await scheme.open(url)
  } catch (cause) {
    if (scheme.needs === undefined || !isNotInstalled(cause, scheme.needs)) throw cause
    throw unsupported(
      `Content at ${name}:// needs the package ${scheme.needs}, which is not installed.`,
      `Run npm install ${scheme.needs}.`,
      { cause },
    )
  }
}

/**
 * Opens a content of another thread by its `url`, with its cache on local disk, if it has one. A cache that cannot be
 * used any more is left out.
 */
export async function openContentAgain(url: string): Promise<Content> {
  if (!url.includes('#')) return openContent(url)
  const { cachedContent, readCachedUrl } = await import('./cache/index.ts')
  const cached = readCachedUrl(url)
  const content = await openContent(cached?.url ?? url)
  return cached === undefined ? content : cachedContent(content, cached.cache).catch(() => content)
}

function isNotInstalled(error: unknown, name: string): boolean {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ERR_MODULE_NOT_FOUND' && message !== undefined && message.includes(`'${name}'`)
}
