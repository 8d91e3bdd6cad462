export default function RunsView() {
  return <h1>Runs</h1>;
}
