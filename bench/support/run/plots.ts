import type { Chart } from '../figures.ts'
import { headlines } from './headlines.ts'
import type { Report } from './report.ts'

/* Pictures as Vega-Lite describes them, drawn without a browser. */

const config = {
  font: 'DejaVu Sans, Verdana, Helvetica, Arial, sans-serif',
  background: 'white',
  view: { stroke: null },
  axis: {
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    labelLimit: 320,
    gridColor: '#e6e6e6',
  },
  legend: { labelFontSize: 12, title: null, symbolSize: 90, symbolOpacity: 1, labelLimit: 260 },
  title: { fontSize: 15, anchor: 'start', subtitleFontSize: 12, subtitleColor: '#555', offset: 12 },
}

/** The pictures of a report: their file names and their SVG. */
export async function drawAll(report: Report): Promise<[string, string][]> {
  const pictures: [string, object][] = report.answers.flatMap(({ charts }) =>
    charts
      .filter(({ points }) => points.length > 0)
      .map((chart): [string, object] => [chart.id, curves(chart)]),
  )
  if (headlines(report).length > 0) pictures.unshift(['headline', headline(report)])
  return Promise.all(
    pictures.map(async ([name, spec]): Promise<[string, string]> => [`${name}.svg`, await draw(spec)]),
  )
}

async function draw(spec: object): Promise<string> {
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')])
  const compiled = vegaLite.compile({ ...spec, config }, { logger: vega.logger(vega.Error) })
  const view = new vega.View(vega.parse(compiled.spec), { renderer: 'none' })
  return view.toSVG()
}

function headline(report: Report): object {
  const lines = headlines(report)
  const points = lines.flatMap(({ label, against }) =>
    against.map(({ family, ratio }) => ({ label, family, ...ratio, text: times(ratio.median) })),
  )
  const y = {
    field: 'label',
    type: 'nominal',
    sort: lines.map(({ label }) => label),
    title: null,
    axis: { grid: true, ticks: false, domain: false, labelPadding: 10, labelLimit: 400, labelFontSize: 13 },
  }
  const scale = { type: 'log', domain: domainOf(points.flatMap(({ low, high }) => [low, high])), nice: false }
  const color = {
    field: 'family',
    type: 'nominal',
    scale: { range: palette },
    legend: { orient: 'top', direction: 'horizontal', symbolType: 'circle', labelFontSize: 13 },
  }
  return {
    title: {
      text: 'Speed against the peers, measured in turns on one machine',
      subtitle: 'right of the line we are faster; dots are medians, bars the quartiles',
    },
    data: { values: points },
    width: 560,
    height: { step: 34 },
    layer: [
      {
        data: { values: [{ one: 1 }] },
        mark: { type: 'rule', color: '#222', strokeWidth: 1.5 },
        encoding: { x: { field: 'one', type: 'quantitative', scale } },
      },
      {
        mark: { type: 'rule', strokeWidth: 5, opacity: 0.35 },
        encoding: { y, x: { field: 'low', type: 'quantitative', scale }, x2: { field: 'high' }, color },
      },
      {
        mark: { type: 'point', filled: true, size: 110, opacity: 1 },
        encoding: {
          y,
          x: {
            field: 'median',
            type: 'quantitative',
            scale,
            title: 'times as fast as the peer (logarithmic)',
            axis: { values: ticks(scale.domain), labelExpr: "datum.value + '×'", orient: 'bottom' },
          },
          color,
        },
      },
      {
        mark: { type: 'text', dy: -12, fontSize: 11 },
        encoding: { y, x: { field: 'median', type: 'quantitative', scale }, text: { field: 'text' }, color },
      },
    ],
  }
}

const palette = ['#1b6ca8', '#d1495b', '#3a8f5c', '#8e5ea2', '#e08e0b', '#5f6b6d', '#00798c', '#a2673f']

/** A curve for each series over a logarithmic scale, with the quartiles as a band. */
function curves({ title, x, y, points, limits = [] }: Chart): object {
  const positive = points.filter((point) => point.median > 0 && point.x > 0)
  const xs = [...new Set(positive.map((point) => point.x))].sort((a, b) => a - b)
  const scaleX = { type: 'log', nice: false, padding: 16 }
  const domain = domainOf([
    ...positive.flatMap(({ low, high }) => [low, high]),
    ...limits.map((limit) => limit.y),
  ])
  const scaleY = { type: 'log', domain, nice: false }
  const series = [...new Set(positive.map((point) => point.series))]
  const color = { field: 'series', type: 'nominal', sort: series, scale: { range: palette } }
  const xAxis = {
    field: 'x',
    type: 'quantitative',
    title: x,
    scale: scaleX,
    axis: { values: xs, format: ',d', grid: false },
  }
  return {
    title,
    width: 460,
    height: 280,
    layer: [
      ...limits.map((limit) => ({
        data: { values: [limit] },
        layer: [
          {
            mark: { type: 'rule', strokeDash: [5, 4], color: '#777' },
            encoding: { y: { field: 'y', type: 'quantitative', scale: scaleY } },
          },
          {
            mark: { type: 'text', align: 'left', x: 4, dy: -7, color: '#777', fontSize: 11 },
            encoding: { y: { field: 'y', type: 'quantitative', scale: scaleY }, text: { field: 'label' } },
          },
        ],
      })),
      {
        data: { values: positive },
        mark: { type: 'area', opacity: 0.15 },
        encoding: {
          x: xAxis,
          y: { field: 'low', type: 'quantitative', scale: scaleY },
          y2: { field: 'high' },
          color,
        },
      },
      {
        data: { values: positive },
        mark: { type: 'line', strokeWidth: 2, point: { size: 55, filled: true } },
        encoding: {
          x: xAxis,
          y: {
            field: 'median',
            type: 'quantitative',
            scale: scaleY,
            title: y,
            axis: { values: ticks(domain), format: '~g' },
          },
          color,
        },
      },
    ],
  }
}

function domainOf(values: readonly number[]): [number, number] {
  const low = Math.min(...values)
  const high = Math.max(...values)
  return [low / 1.5, high * 1.8]
}

/** 1, 2, 5 of each power of ten while there are few, and the powers alone when there are many. */
function ticks([low, high]: readonly [number, number]): number[] {
  const steps = high / low > 2_000 ? [1] : high / low > 60 ? [1, 3] : [1, 2, 5]
  const found: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of steps) {
      const value = Number((step * 10 ** power).toPrecision(6))
      if (value >= low && value <= high) found.push(value)
    }
  }
  return found
}

/** A ratio as people say it. */
function times(ratio: number): string {
  return `${ratio >= 10 ? Math.round(ratio).toLocaleString('en') : Number(ratio.toPrecision(2))}×`
}
