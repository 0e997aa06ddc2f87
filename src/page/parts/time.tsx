import { shownTime, sinceText } from '../model/text.ts'

/** A time in UTC, whole and on one line. Its title says how long ago it was. */
export function Time({ millis }: { readonly millis: number }) {
  const text = shownTime(millis)
  if (text === '') return null
  return (
    <time dateTime={new Date(millis).toISOString()} title={sinceText(millis, Date.now())}>
      {text}
    </time>
  )
}
