import type { ShownRefusal } from '../api/refusal.js';
import { visibleText } from './foreign-text.js';

export const RefusalText = ({ refusal }: { refusal: ShownRefusal | null }) =>
  refusal === null ? null : (
    <p className="failure" role="alert">
      <b>{refusal.code}</b> {visibleText(refusal.message)}
    </p>
  );

/** In place of buttons that the key may not press. */
export const ReadOnlyNote = () => (
  <p className="quiet">Your key may read this, but not change it. Ask an admin for a key of another role.</p>
);
