{{- define "ucp-gateway.labels" -}}
app.kubernetes.io/name: ucp-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "ucp-gateway.selector" -}}
app.kubernetes.io/name: ucp-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ucp-gateway.secret" -}}
{{ .Values.secret.existing | default .Release.Name }}
{{- end }}
