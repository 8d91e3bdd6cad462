import { visibleText } from '../../components/untrusted-text.js';

const COUNTS = [
  ['passed', 'mark-good'],
  ['failed', 'mark-bad'],
  ['skipped', 'mark-warn'],
] as const;
const TONES: Readonly<Record<string, string>> = { pass: 'mark-good', fail: 'mark-bad', error: 'mark-bad' };

/** What the checks reported. The record comes from an agent, so its parts may have any form. */
export function CheckCounts({ evaluators }: { evaluators: Readonly<Record<string, unknown>> | null }) {
  if (evaluators === null) return null;
  const details = Array.isArray(evaluators.details) ? (evaluators.details as unknown[]) : [];
  return (
    <div className="row checks">
      <span>Checks:</span>
      {COUNTS.map(([name, tone]) =>
        Number(evaluators[name]) > 0 ? (
          <span key={name} className={`mark ${tone}`}>
            {Number(evaluators[name])} {name}
          </span>
        ) : null,
      )}
      {details.slice(0, 50).map((detail) => {
        const { name, result } = (detail ?? {}) as { name?: unknown; result?: unknown };
        return (
          <span key={String(name)} className={`mark ${TONES[String(result)] ?? ''}`}>
            {visibleText(`${name}: ${result}`)}
          </span>
        );
      })}
    </div>
  );
}
