export default function LogView() {
  return <h1>Log</h1>;
}
