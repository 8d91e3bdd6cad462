import { useReply } from '../../api/use-reply.js';
import { visibleText } from '../../components/foreign-text.js';
import { Replied } from '../../components/states.js';

/** Why the task can or cannot be claimed now. */
export function Claimability({ subject }: { subject: string }) {
  return (
    <Replied asked={useReply('explain', { params: { subject } })}>
      {({ claimable, why, next, evidence }) => (
        <>
          <ul>
            {why.map(({ rule, says }) => (
              <li key={`${rule} ${says}`}>
                <span className={`mark ${claimable ? 'mark-good' : 'mark-warn'}`}>{rule}</span>{' '}
                {visibleText(says)}
              </li>
            ))}
            {(evidence?.missing ?? []).map(({ name, says }) => (
              <li key={name}>
                <span className="mark mark-warn">{visibleText(name)}</span> {visibleText(says)}
              </li>
            ))}
          </ul>
          <p>{visibleText(next)}</p>
        </>
      )}
    </Replied>
  );
}
