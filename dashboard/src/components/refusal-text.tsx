import type { ShownRefusal } from '../api/refusal.js';
import { visibleText } from './untrusted-text.js';

export const RefusalText = ({ refusal }: { refusal: ShownRefusal | null }) =>
  refusal === null ? null : (
    <p className="failure" role="alert">
      <b>{refusal.code}</b> {visibleText(refusal.message)}
    </p>
  );
