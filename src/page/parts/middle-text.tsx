import { Text } from './text.tsx'

/** The characters that stay at the end of a text, and the shortest text that is cut. */
const [tailCharacters, shortest] = [7, 14]

/** A name that ends in the middle where there is no room for it, as names often differ at their ends. */
export function MiddleText({ text }: { readonly text: string }) {
  const characters = text.length < shortest ? [] : Array.from(text)
  if (characters.length < shortest) return <Text text={text} />
  const [head, tail] = [characters.slice(0, -tailCharacters), characters.slice(-tailCharacters)]
  return (
    <>
      <span class="unseen">
        <Text text={text} />
      </span>
      <bdi dir="auto" class="middle" aria-hidden="true">
        <span>
          <Text text={head.join('')} />
        </span>
        <span>
          <Text text={tail.join('')} />
        </span>
      </bdi>
    </>
  )
}
