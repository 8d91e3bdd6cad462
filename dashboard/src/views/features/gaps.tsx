import { useReply } from '../../api/use-reply.js';
import { QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { visibleText } from '../../components/untrusted-text.js';

/** Requirements without coverage according to the last gap report, and the intents that it raised. */
export function Gaps() {
  const query = useReply('known_gaps');
  return (
    <section className="card" aria-label="Gaps">
      <h2>Gaps</h2>
      <QueryResult query={query}>
        {({ last, open }) => (
          <>
            {last === null ? (
              <p className="quiet">
                No gap report yet. Make one: <code>gen gaps</code>
              </p>
            ) : (
              <p>
                {last.full_coverage} of {last.total_req_keys} requirements fully covered, {last.no_coverage}{' '}
                not at all, <TimeText at={last.at} />
              </p>
            )}
            <ul>
              {open.map(({ id, severity, says }) => (
                <li key={id}>
                  <span className="mark mark-warn">{severity}</span> {visibleText(says)}
                </li>
              ))}
            </ul>
          </>
        )}
      </QueryResult>
    </section>
  );
}
