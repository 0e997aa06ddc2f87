/** The folder for metadata files below a location. */
export function metadataFolder(location: string): string {
  return `${location.replace(/\/+$/, '')}/metadata`
}
