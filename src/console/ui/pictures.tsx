import type { ComponentChildren } from 'preact';

interface BarsProps {
  about: string;
  /** `name` stands below, such as 28; the label is for a pointer and for screen readers, such as "28 Nov: ₹26,076"; `failed` is a part of the value. */
  bars: readonly { name: string; label: string; value: number; failed?: number; isNow?: boolean }[];
  /** A line across, such as what is usual. */
  usual?: number | undefined;
}

const [step, gap, height] = [20, 4, 72];
/** More names would not be readable on a phone. */
const maxNames = 14;

export function Bars({ about, bars, usual = 0 }: BarsProps) {
  const width = bars.length * step;
  const most = Math.max(1, usual, ...bars.map(({ value }) => value));
  const heightOf = (value: number) => Math.round((Math.max(0, value) / most) * (height - 2));
  const block = (index: number, from: number, to: number, kind: 'now' | 'bad' | undefined) => {
    const place = { x: index * step + gap / 2, width: step - gap, y: height - to };
    return <rect class={kind} fill="currentColor" {...place} height={Math.max(0, to - from)} />;
  };
  const size = { viewBox: `0 0 ${width} ${height}`, width: '100%', height, preserveAspectRatio: 'none' };
  return (
    <figure class="picture">
      <svg {...size} role="img" aria-label={about}>
        {bars.map(({ label, value, failed = 0, isNow }, index) => (
          <g key={index}>
            <title>{label}</title>
            {/* The whole column is the target of a pointer. */}
            <rect x={index * step} width={step} height={height} fill="transparent" />
            {block(index, 0, heightOf(value), isNow ? 'now' : undefined)}
            {failed > 0 && block(index, heightOf(value - failed), Math.max(3, heightOf(value)), 'bad')}
          </g>
        ))}
        {usual > 0 && (
          <path
            d={`M0 ${height - heightOf(usual)}h${width}`}
            class="soft"
            stroke="currentColor"
            stroke-dasharray="6 6"
          />
        )}
      </svg>
      <div class="axis" aria-hidden="true">
        {bars.map(({ name }, index) => (
          <span key={index}>{index % Math.ceil(bars.length / maxNames) === 0 && name}</span>
        ))}
      </div>
      <ul class="unseen">
        {bars.map(({ label }, index) => (
          <li key={index}>{label}</li>
        ))}
      </ul>
    </figure>
  );
}

export function Hero({
  value,
  children,
  ...picture
}: BarsProps & { value: string; children: ComponentChildren }) {
  return (
    <section class="hero" aria-label={picture.about}>
      <div>
        <strong>{value}</strong> {children}
      </div>
      <Bars {...picture} />
    </section>
  );
}
