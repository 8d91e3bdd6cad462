import { ForeignText } from '../../components/foreign-text.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

/** Something that the methodology hands to a person, with the command that resolves it. */
export function EscalationCard({ item }: { item: ItemOf<'escalation'> }) {
  const { kind, feature_id, edge, says, next } = item.escalation;
  const taskId = feature_id === null || edge === null ? null : `${feature_id}#${edge}`;
  return (
    <ItemFrame item={item} name={`Escalation: ${kind}`} taskId={taskId}>
      {feature_id !== null && edge === null ? <p className="mono">{feature_id}</p> : null}
      <p>
        <ForeignText text={says} />
      </p>
      <p>
        Resolve it with{' '}
        <code>
          <ForeignText text={next} />
        </code>
      </p>
    </ItemFrame>
  );
}
