import { isHarmless, type ShownRefusal } from '../api/refusal.js';
import { visibleText } from './untrusted-text.js';

export function RefusalText({ refusal }: { refusal: ShownRefusal | null }) {
  if (refusal === null) return null;
  const isCalm = isHarmless(refusal.code);
  return (
    <p className={isCalm ? 'quiet' : 'failure'} role={isCalm ? 'status' : 'alert'}>
      <b>{refusal.code}</b> {visibleText(refusal.message)}
    </p>
  );
}
