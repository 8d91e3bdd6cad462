import { unifiedDiff } from '../../../../src/core/line-diff.js';
import { DiffText } from './diff-text.js';

/** How one text became another. */
export default function TextDifference({ before, after }: { before: string; after: string }) {
  const diff = unifiedDiff(before, after);
  return diff === '' ? <p className="quiet">No difference.</p> : <DiffText diff={diff} />;
}
