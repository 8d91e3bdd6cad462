import { useEffect, useState } from 'react';
import { useReply } from '../../api/use-reply.js';

/** The address and the data follow the slider after this delay. */
const SETTLE_MS = 200;

interface Props {
  readonly at: number | null;
  readonly onChange: (at: number | null) => void;
}

/** Chooses the position of the log whose state is shown. */
export function Scrubber({ at, onChange }: Props) {
  const end = useReply('status').data?.position ?? 0;
  const [chosen, setChosen] = useState(at);
  useEffect(() => setChosen(at), [at]);
  useEffect(() => {
    if (chosen === at) return;
    const timer = setTimeout(() => onChange(chosen), SETTLE_MS);
    return () => clearTimeout(timer);
  });
  if (end === 0) return null;
  const choosePosition = (text: string) => {
    const position = Math.round(Number(text));
    if (text !== '' && Number.isFinite(position)) setChosen(Math.min(Math.max(position, 1), end));
  };
  const shown = chosen ?? end;
  return (
    <section className="card log-scrubber" aria-label="Moment">
      <label className="log-slider">
        Scrub back
        <input
          type="range"
          min={1}
          max={end}
          value={shown}
          aria-valuetext={`position ${shown} of ${end}`}
          onChange={({ target }) => choosePosition(target.value)}
        />
      </label>
      <label>
        Position
        <input
          type="number"
          min={1}
          max={end}
          value={shown}
          onChange={({ target }) => choosePosition(target.value)}
        />
      </label>
      <span className="quiet">of {end}</span>
      <button type="button" disabled={at === null} onClick={() => onChange(null)}>
        Now
      </button>
    </section>
  );
}
