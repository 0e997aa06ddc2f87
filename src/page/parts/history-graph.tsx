import type { HistoryRow } from '../model/history.ts'

export const graphRowHeight = 30
const [laneWidth, margin, radius] = [14, 10, 4.5]
const middle = graphRowHeight / 2
const colors = 6

function color(lane: number): string {
  return `var(--lane-${(lane % colors) + 1})`
}

function placeOf(lane: number): number {
  return margin + lane * laneWidth
}

/** The width of a graph of so many lanes, in pixels. */
export function graphWidth(lanes: number): number {
  return placeOf(Math.max(0, lanes - 1)) + margin
}

/** The part of the graph that belongs to a row. The parts of all rows join; text says the same. */
export function HistoryGraph({
  row: { lane, above, below, forks },
  width,
  isChosen,
}: {
  readonly row: HistoryRow
  readonly width: number
  readonly isChosen: boolean
}) {
  const x = placeOf(lane)
  return (
    <svg width={width} height={graphRowHeight} aria-hidden="true" class="history-graph">
      {above
        .filter((other) => !forks.includes(other))
        .map((other) => (
          <line
            key={`above ${other}`}
            x1={placeOf(other)}
            x2={placeOf(other)}
            y1={0}
            y2={middle}
            stroke={color(other)}
          />
        ))}
      {below.map((other) => (
        <line
          key={`below ${other}`}
          x1={placeOf(other)}
          x2={placeOf(other)}
          y1={middle}
          y2={graphRowHeight}
          stroke={color(other)}
        />
      ))}
      {forks.map((other) => (
        <path
          key={`fork ${other}`}
          d={`M${placeOf(other)} 0C${placeOf(other)} ${middle} ${placeOf(other)} ${middle} ${x} ${middle}`}
          stroke={color(other)}
          fill="none"
        />
      ))}
      <circle
        cx={x}
        cy={middle}
        r={radius}
        stroke={color(lane)}
        fill={isChosen ? 'var(--ink)' : color(lane)}
      />
    </svg>
  )
}
