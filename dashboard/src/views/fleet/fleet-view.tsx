import { useReply } from '../../api/use-reply.js';
import { Empty, Replied } from '../../components/states.js';
import { NO_ACTIVITY } from './activity.js';
import { Agents } from './agents-view.js';
import { Feed } from './feed-view.js';
import { Summary } from './summary-view.js';
import { Throughput } from './throughput-view.js';
import { Tracks } from './tracks-view.js';
import { useActivity } from './use-activity.js';
import './fleet.css';

/** What every agent does now, what is stuck, and what has happened. */
export function FleetView() {
  const status = useReply('status');
  const activity = useActivity();
  return (
    <>
      <h1>Fleet</h1>
      <Replied asked={status}>
        {(shown) => (
          <>
            <Summary status={shown} />
            <div className="fleet">
              <div>
                <Agents status={shown} activity={activity.data?.activity ?? NO_ACTIVITY} />
                <Feed asked={activity} />
              </div>
              <div>
                <section className="card" aria-labelledby="tracks">
                  <h2 id="tracks">Tracks</h2>
                  {Object.keys(shown.tracks).length === 0 ? (
                    <Empty title="There is no plan yet">
                      <p>
                        Import one: <code>gen plan import FILE</code>
                      </p>
                    </Empty>
                  ) : (
                    <Tracks tracks={shown.tracks} />
                  )}
                </section>
                <section className="card" aria-labelledby="throughput">
                  <h2 id="throughput">Throughput</h2>
                  <Replied asked={activity}>
                    {({ activity: { accepted }, isBehind }) => (
                      <Throughput accepted={accepted} isBehind={isBehind} />
                    )}
                  </Replied>
                </section>
              </div>
            </div>
          </>
        )}
      </Replied>
    </>
  );
}
