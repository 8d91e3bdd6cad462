import { unifiedDiff } from '../../../../src/core/line-diff.js';
import { DiffText } from './diff-text.js';

/** The difference between two texts. */
export default function TextDifference({ before, after }: { before: string; after: string }) {
  const diff = unifiedDiff(before, after);
  return diff === '' ? <p className="quiet">No difference.</p> : <DiffText diff={diff} />;
}
