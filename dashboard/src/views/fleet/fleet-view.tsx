import { useReply } from '../../api/use-reply.js';
import { QueryResult } from '../../components/states.js';
import { NO_ACTIVITY } from './activity.js';
import { Agents } from './agents-view.js';
import { Feed } from './feed-view.js';
import { ProgressCards } from './progress-cards.js';
import { Summary } from './summary-view.js';
import { Throughput } from './throughput-view.js';
import { useActivity } from './use-activity.js';
import './fleet.css';

/** What every agent does now, what is stuck, and what has happened. */
export function FleetView() {
  const status = useReply('status');
  const activity = useActivity();
  return (
    <>
      <h1>Fleet</h1>
      <QueryResult query={status}>
        {(shown) => (
          <>
            <Summary status={shown} />
            <div className="fleet">
              <div>
                <Agents status={shown} activity={activity.data?.activity ?? NO_ACTIVITY} />
                <Feed activity={activity} />
              </div>
              <div>
                <ProgressCards tracks={shown.tracks} />
                <section className="card" aria-labelledby="throughput">
                  <h2 id="throughput">Throughput</h2>
                  <QueryResult query={activity}>
                    {({ activity: { acceptedAtMs }, isBehind }) => (
                      <Throughput acceptedAtMs={acceptedAtMs} isBehind={isBehind} />
                    )}
                  </QueryResult>
                </section>
              </div>
            </div>
          </>
        )}
      </QueryResult>
    </>
  );
}
