import { ScrollRegion } from '../../components/scroll-region.js';
import { visibleText } from '../../components/untrusted-text.js';

const CLASS_BY_START: Readonly<Record<string, string>> = {
  '+': 'diff-added',
  '-': 'diff-removed',
  '@': 'diff-place',
};
const LINES_SHOWN_MAX = 2000;

/** A unified diff, with its lines coloured. */
export function DiffText({ diff }: { diff: string }) {
  const lines = diff.split('\n');
  const shown = lines.slice(0, LINES_SHOWN_MAX);
  return (
    <>
      <ScrollRegion className="text-box" name="Difference">
        <pre>
          {shown.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text that does not change
            <span key={at} className={`diff-line ${CLASS_BY_START[line[0] ?? ''] ?? ''}`}>
              {visibleText(line)}
              {'\n'}
            </span>
          ))}
        </pre>
      </ScrollRegion>
      {shown.length < lines.length ? (
        <p className="quiet">{lines.length - shown.length} more lines.</p>
      ) : null}
    </>
  );
}
